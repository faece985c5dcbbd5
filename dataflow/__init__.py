"""What happens: the Hamilton graphs of crosscorpus and what runs them."""
