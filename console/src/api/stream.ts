import { readServerSentEvents, type StreamEvent } from '@gwk/client';
import { addHeaders, checkAnswer } from './client';

/**
 * Reads a stream of server-sent events until it ends or the signal aborts.
 * @throws ApiError for an error answer, ConnectionError if the stream breaks
 */
export async function* readStream(
  path: string,
  account: string,
  signal: AbortSignal,
): AsyncGenerator<StreamEvent> {
  const request = addHeaders(new Request(path, { signal }), account);
  const response = await fetch(request);
  await checkAnswer(response);
  yield* readServerSentEvents(response.body!);
}
