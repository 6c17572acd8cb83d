"""The program of docs/how-to/train-from-python.md, whose types are checked. A test keeps the two alike."""

from kubedl.client import JobFailed, TrainingClient


def train(epochs: int, lr: float = 0.1) -> dict[str, float]:
    import torch  # type: ignore[import-not-found]
    import torch.distributed as dist  # type: ignore[import-not-found]

    dist.init_process_group()
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(35, 10))
    optimizer, loss = torch.optim.SGD(model.parameters(), lr=lr), torch.tensor(0.0)
    for epoch in range(epochs):
        loss = torch.nn.functional.cross_entropy(model(torch.randn(64, 35)), torch.randint(10, (64,)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        print(f"progress {epoch + 1}/{epochs} loss={loss.item():.3f}", flush=True)
    return {"loss": loss.item()}


with TrainingClient(namespace="team-a") as client:
    job = client.train(train, name="digits", image="registry.example/torch:2.6", num_workers=2, args={"epochs": 300})
    try:
        for line in client.get_job_logs(job.name, follow=True):
            print(line.replica, line)
        print(client.wait_for_job_status(job.name, timeout=3600).result)
    except JobFailed as failure:
        print(client.why(job.name))
        raise SystemExit(failure.exit_code) from failure
