"""Reading a run and showing it. Only public AWS APIs are asked, so it works on AWS and on a local cloud alike."""
