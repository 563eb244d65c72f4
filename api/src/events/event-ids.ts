/** Returns the id of the first event of an inbound message, which derives from the message id (used for quotes). */
export function firstEventId(uuid: string): string {
  return idAfter(uuid, 1);
}

/** Returns the id that is `places` after another. */
export function idAfter(uuid: string, places: number): string {
  const next = BigInt(`0x${uuid.replaceAll('-', '')}`) + BigInt(places);
  return next
    .toString(16)
    .padStart(32, '0')
    .replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
