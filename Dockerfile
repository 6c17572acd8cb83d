# The product's image: operator, packer, loader, recorder and console. amd64 and arm64:
#   docker buildx build --platform linux/amd64,linux/arm64 --tag REGISTRY/kubedl:TAG --push .
# `make images` builds the same from Debian packages, without a daemon and reproducibly.
FROM python:3.13-slim AS packages
COPY requirements/image.txt /
RUN pip install --no-cache-dir --no-compile --only-binary :all: --require-hashes --target /packages -r /image.txt

FROM node:22-slim AS pages
COPY console /build/console
RUN cd /build/console && npm ci --no-audit --no-fund && npx vite build && node scripts/compress.mjs

FROM python:3.13-slim
COPY --from=packages /packages /usr/local/lib/python3.13/site-packages
COPY src/kubedl /usr/local/lib/python3.13/site-packages/kubedl
COPY --from=pages /build/src/kubedl/console/static /usr/local/lib/python3.13/site-packages/kubedl/console/static
RUN python3 -m compileall -q --invalidation-mode unchecked-hash /usr/local/lib/python3.13/site-packages
ENV LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1
USER 65532:65532
ENTRYPOINT ["python3", "-m", "kubedl.entrypoints.command"]
