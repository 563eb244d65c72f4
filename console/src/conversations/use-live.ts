import { useEffect, useEffectEvent, useState } from 'react';
import { useAccount } from '../app/account';
import { LIVE_MS } from '../ui/live';

/** Events of one moment cause one look. */
const GATHER_MS = 250;
/** A look is about six requests, and a person has 600 a minute: a busy number may not use them up. */
const SPACING_MS = 3_000;
/** Interval of looks beside a stream, which reports no change of a queued message and none of a name. */
const BESIDE_STREAM_MS = 20_000;

/**
 * Calls back soon after events of a number, and not while an earlier look is under way.
 * @returns the interval at which to look anyway: often while there is no stream
 */
export function useLive(
  instanceId: string | null,
  { isLooking, onEvents }: { isLooking: () => boolean; onEvents: () => void },
): number {
  const { gwk } = useAccount();
  const [isOpen, setOpen] = useState(false);
  const look = useEffectEvent(() => {
    if (isLooking()) return false;
    onEvents();
    return true;
  });
  useEffect(() => {
    if (instanceId === null) return;
    const abort = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let lookedAt = -Infinity;
    const gather = () => {
      timer ??= setTimeout(
        () => {
          timer = undefined;
          if (look()) lookedAt = performance.now();
          else gather();
        },
        Math.max(GATHER_MS, lookedAt + SPACING_MS - performance.now()),
      );
    };
    const end = () => {
      if (abort.signal.aborted) return;
      setOpen(false);
      gather();
    };
    const follow = async () => {
      const options = { signal: abort.signal, onOpen: () => setOpen(true), onLost: end };
      const events = gwk.events.follow({ instance_id: instanceId }, options);
      while (!(await events.next()).done) gather();
    };
    // Lists show the same, only later, and report a lasting refusal.
    void follow().catch(end);
    return () => {
      abort.abort();
      clearTimeout(timer);
      setOpen(false);
    };
  }, [gwk, instanceId]);
  return isOpen ? BESIDE_STREAM_MS : LIVE_MS;
}
