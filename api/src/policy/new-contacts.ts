type NewContactDecision = { do: 'accept' } | { do: 'refuse'; retryAfter: number };

interface NewContactInput {
  limit: number;
  /** New contacts of the instance in the last 24 hours. */
  count: number;
  /** When the oldest of them was counted. */
  oldestAt: Date | null;
  /** End of a restriction by the network, which refuses new contacts until then. */
  restrictedUntil: Date | null;
  now: Date;
}

const DAY = 86_400_000;

/**
 * Limits how many new contacts (who never wrote) an instance may write to in 24 hours. A contact counts once, at the
 * first accepted message. Only that message is checked here.
 */
export function decideNewContact(input: NewContactInput): NewContactDecision {
  const { limit, count, oldestAt, restrictedUntil, now } = input;
  if (restrictedUntil !== null && restrictedUntil > now) return refuse(restrictedUntil.getTime(), now);
  if (count < limit) return { do: 'accept' };
  return refuse((oldestAt ?? now).getTime() + DAY, now);
}

function refuse(until: number, now: Date): NewContactDecision {
  return { do: 'refuse', retryAfter: Math.max(1, Math.ceil((until - now.getTime()) / 1000)) };
}
