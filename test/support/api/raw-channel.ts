import { once } from 'node:events';
import { CHANNEL_PATH } from '@gwk/core/protocol/call-channel';
import { WebSocket } from 'ws';

interface Answer {
  id: number;
  status: number;
  body: unknown;
}

/** A channel to the internal API whose frames the test chooses. */
export class RawChannel {
  readonly #answers = new Map<number, PromiseWithResolvers<Answer>>();
  /** Resolves to the close code. */
  readonly closed: Promise<number>;

  private constructor(readonly socket: WebSocket) {
    socket.on('error', () => undefined);
    socket.on('message', (data: Buffer) => {
      const answer = JSON.parse(data.toString()) as Answer;
      this.#answers.get(answer.id)?.resolve(answer);
    });
    this.closed = new Promise((resolve) => socket.on('close', resolve));
    void this.closed.then((code) => {
      for (const { reject } of this.#answers.values()) reject(new Error(`closed with ${code}`));
    });
  }

  /** @throws Error with the status of the response, if it refuses the channel */
  static async open(baseUrl: string, token: string): Promise<RawChannel> {
    const url = new URL(CHANNEL_PATH, baseUrl.replace(/^http/, 'ws'));
    const socket = new WebSocket(url, { headers: { authorization: `Bearer ${token}` } });
    await once(socket, 'open');
    return new RawChannel(socket);
  }

  /** Rejects when the channel closes first. */
  call(id: number, route: string, body: unknown): Promise<Answer> {
    const answer = Promise.withResolvers<Answer>();
    answer.promise.catch(() => undefined);
    this.#answers.set(id, answer);
    this.socket.send(JSON.stringify({ id, route, body }));
    return answer.promise;
  }
}
