"""KubeDL: deep learning on Kubernetes, from training job to model image to served prediction."""
