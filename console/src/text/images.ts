// References of images as people read them. Pure.

/** The first twelve digits of a digest; the whole text if it has none. */
export function shortDigest(image: string): string {
  const found = /@sha256:([0-9a-f]{12})/.exec(image)?.[1];
  return found ?? image;
}

/** The name of a repository without host and path: nlp for https://git.example/team/nlp.git. */
export const repositoryName = (url: string): string => (url.split("/").pop() ?? url).replace(/\.git$/, "") || url;

/** The name of an image without host, tag and digest: torch for hub.example/team/torch:2@sha256:…. */
export const imageName = (image: string): string => (image.split("@")[0] ?? image).split("/").pop()?.replace(/:[^:]*$/, "") || image;
