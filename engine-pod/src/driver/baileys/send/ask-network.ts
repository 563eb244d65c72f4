import { SendFailure } from '../../driver.js';

/** A failed query means that the message was not written and may be retried. */
export async function askNetwork<T>(question: () => Promise<T>): Promise<T> {
  try {
    return await question();
  } catch (error) {
    if (error instanceof SendFailure) throw error;
    throw SendFailure.notWritten();
  }
}
