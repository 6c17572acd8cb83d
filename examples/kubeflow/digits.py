"""A notebook for Kubeflow's Training SDK 1.9, cell by cell. tests/e2e/training/test_kubeflow_notebook.py runs it."""

import os

from kubeflow.training import TrainingClient

NAMESPACE, IMAGE = os.environ["NAMESPACE"], os.environ["IMAGE"]


# In[1]: a training function, which has all that it needs
def train_digits(parameters):
    import os

    rank, size = os.environ["RANK"], os.environ["WORLD_SIZE"]
    print(f"{os.environ['GREETING']} from rank {rank} of {size}, learning rate {parameters['lr']}", flush=True)


# In[2]: a job of two workers
client = TrainingClient(namespace=NAMESPACE, job_kind="PyTorchJob")
client.create_job(
    name="digits",
    base_image=IMAGE,
    train_func=train_digits,
    parameters={"lr": 0.1},
    num_workers=2,
    resources_per_worker={"cpu": "100m", "memory": "64Mi"},
    env_vars={"GREETING": "hello"},
)

# In[3]: all jobs
print("jobs:", [job.metadata.name for job in client.list_jobs()])

# In[4]: wait for its end
client.wait_for_job_conditions(name="digits", expected_conditions={"Succeeded"}, wait_timeout=300, polling_interval=2)
print("succeeded:", client.is_job_succeeded("digits"))

# In[5]: its pods
print("pods:", client.get_job_pod_names("digits"))
for pod in client.get_job_pods("digits"):
    print(pod.metadata.name, pod.status.phase)

# In[6]: the log of its master
logs, events = client.get_job_logs("digits", is_master=True)
print(logs["digits-master-0"])

# In[7]: delete it
client.delete_job("digits")
