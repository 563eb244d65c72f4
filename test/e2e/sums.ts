/** Result for the messages of one direction. */
export interface Sums {
  sent: number;
  arrived: number;
  lost: string[];
  doubled: string[];
  /** Arrived after a message that was sent later in the same conversation. */
  disordered: string[];
}

export interface Line {
  conversation: string;
  /** Each text is sent once. */
  text: string;
}

/** Pure. `sent` and `seen` are in their order. */
export function sumsOf(sent: Line[], seen: Line[]): Sums {
  const keyOf = ({ conversation, text }: Line) => `${conversation} ${text}`;
  const places = new Map(sent.map((line, place) => [keyOf(line), place]));
  const counts = new Map<string, number>();
  const latest = new Map<string, number>();
  const disordered: string[] = [];
  for (const line of seen) {
    const key = keyOf(line);
    const place = places.get(key);
    if (place === undefined) continue;
    counts.set(key, (counts.get(key) ?? 0) + 1);
    if (counts.get(key)! > 1) continue;
    const last = latest.get(line.conversation) ?? -1;
    if (place < last) disordered.push(`${key} after ${sent[last]!.text}`);
    latest.set(line.conversation, Math.max(place, last));
  }
  return {
    sent: sent.length,
    arrived: counts.size,
    lost: [...places.keys()].filter((key) => !counts.has(key)),
    doubled: [...counts].filter(([, count]) => count > 1).map(([key]) => key),
    disordered,
  };
}
