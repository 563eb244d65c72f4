interface CliErrorOptions extends ErrorOptions {
  /** Programs with exit codes for kinds of failures use it. */
  kind?: 'usage' | 'auth' | 'timeout';
}

/** An error that the user can fix, shown without a stack trace. */
export class CliError extends Error {
  override name = 'CliError';
  readonly kind: CliErrorOptions['kind'];

  constructor(message: string, { kind, ...options }: CliErrorOptions = {}) {
    super(message, options);
    this.kind = kind;
  }
}
