"""Real DeepSpeed under stallfree, ZeRO 2 and 3, two processes on the CPU: killed, damaged, resumed."""
