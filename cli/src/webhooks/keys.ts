/** Action of a key press. */
export type KeyAction = { do: 'resend'; number: number | null } | { do: 'quit' };

/** Reads keys: `r` resends the last event, a number and Enter that event, `q` and Ctrl-C end. */
export function readKeys(pending: string, input: string): { pending: string; actions: KeyAction[] } {
  const actions: KeyAction[] = [];
  for (const key of input) {
    if (/\d/.test(key)) pending = (pending + key).slice(-6);
    else {
      if (key === 'r') actions.push({ do: 'resend', number: null });
      else if (key === 'q' || key === '\u0003') actions.push({ do: 'quit' });
      else if (/[\r\n]/.test(key) && pending !== '') actions.push({ do: 'resend', number: Number(pending) });
      pending = '';
    }
  }
  return { pending, actions };
}
