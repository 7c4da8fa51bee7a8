"""What a pod runs to delete itself: when its hours are over, whether or not anybody still looks after it."""

import shlex

_DELETE = (
    'printf "Authorization: Bearer %s" "$RUNPOD_API_KEY" | '
    'curl -sS -f -m 60 -X DELETE -H @- {api}/v2/pods/"$RUNPOD_POD_ID"'
)
_BY_TOOL = 'runpodctl pod delete "$RUNPOD_POD_ID" || runpodctl remove pod "$RUNPOD_POD_ID"'
_AGAIN_S = 30


def delete_loop(api: str) -> str:
    """Shell words that delete the pod they run in, again and again until that ends them.

    The key is the pod's own, and no word of any command: others could read those.
    """
    return f"until {_DELETE.format(api=shlex.quote(api))} || {_BY_TOOL}; do sleep {_AGAIN_S}; done >/dev/null 2>&1"


def start_command(api: str, until: int, seconds: int) -> str:
    """The container's command: a guard in the background, then the image's own start, which brings up sshd.

    It waits until a time of the world, so that minutes of provisioning count, and never longer than ``seconds``,
    so that a wrong clock cannot keep the pod.
    """
    wait = f"left=$(({until} - $(date +%s))); [ $left -le {seconds} ] || left={seconds}; [ $left -ge 0 ] || left=0"
    script = f"({wait}; sleep $left; {delete_loop(api)}) & exec /start.sh"
    return f"bash -c {shlex.quote(script)}"
