"""The commands that bring their own cloud: demo, drill, cloud. Nothing else in `client` knows that there is one."""
