import { ApiError } from '@gwk/client';
import type { components } from '../generated/api';

type ProblemBody = components['schemas']['ProblemOut'];

/** Second factors of a person. */
export type Factors = NonNullable<ProblemBody['factors']>;

/** An error answer of an operation of the console. */
export class ConsoleError extends ApiError {
  /** For `mfa-required`. */
  readonly factors: Factors;

  constructor(body: Partial<ProblemBody>, response: Response) {
    super(body, response);
    this.factors = body.factors ?? [];
  }
}
