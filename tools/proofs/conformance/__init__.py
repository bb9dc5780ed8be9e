"""Is the local cloud no kinder than AWS? Each operation that Belay uses: its rules, their sources, their tests."""
