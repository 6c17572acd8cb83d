"""History: jobs, pods and events in a database, where they outlive the objects of the cluster."""
