/** The key was used before. Phones treat it as the same message and drop it without notice. */
export class CounterUsed extends Error {
  override readonly name = 'CounterUsed';
}

/** No session, a wrong one, an unknown pre-key, or a bad signature. Phones request the message again. */
export class UnreadableMessage extends Error {
  override readonly name = 'UnreadableMessage';
}
