"""Cards by the hour from RunPod, as far as it is arithmetic and text: offers, costs, requests, refusals, scripts."""
