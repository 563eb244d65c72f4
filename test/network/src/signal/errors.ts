/** A key was used before. Phones take it for the same message once more and drop it without a word. */
export class CounterUsed extends Error {
  override readonly name = 'CounterUsed';
}

/** No session, a wrong one, an unknown pre-key, a bad signature: phones ask for the message again. */
export class UnreadableMessage extends Error {
  override readonly name = 'UnreadableMessage';
}
