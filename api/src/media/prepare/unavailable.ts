/** The file of a message cannot be had, or is not what it has to be. The message is for the consumer. */
export class Unavailable extends Error {
  override name = 'Unavailable';
  /** It may be had a little later. */
  readonly passing: boolean;

  constructor(message: string, { passing = false, cause }: { passing?: boolean; cause?: unknown } = {}) {
    super(message, { cause });
    this.passing = passing;
  }
}
