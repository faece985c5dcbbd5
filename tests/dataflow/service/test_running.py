import subprocess
import sys


def test_without_its_extra_a_server_says_what_installs_it() -> None:
    script = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from dataflow.__main__ import main\n"
        "sys.argv = ['crosscorpus', 'serve']; main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 1
    assert "a server needs uvicorn" in done.stderr
    assert "[serve]" in done.stderr
    assert "Traceback" not in done.stderr
