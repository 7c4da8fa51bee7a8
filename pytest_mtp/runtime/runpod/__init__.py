"""Cards by the hour from RunPod: its API, the lease of a pod, and the way into it by SSH."""
