/** The file of a message cannot be fetched or used. The API shows the error's message to the consumer. */
export class MediaUnavailable extends Error {
  override name = 'MediaUnavailable';
  /** A retry may succeed. */
  readonly temporary: boolean;

  constructor(message: string, { temporary = false, cause }: { temporary?: boolean; cause?: unknown } = {}) {
    super(message, { cause });
    this.temporary = temporary;
  }
}
