import { randomUUID } from 'node:crypto';

/** The load. The floor and the gateway receive the same bytes. */
export interface TrafficOptions {
  /** Public ids. */
  instances: string[];
  apiKeys: string[];
  /** Number of existing conversations over all instances. */
  conversations: number;
  /** Separates the new contacts of different runs. */
  run: number;
}

export interface TrafficRequest {
  bytes: Buffer;
  repeat: boolean;
}

const NEW_CONTACTS = 0.1;
const REPEATS = 0.1;
/** Repeats use recently answered requests. */
const REMEMBERED = 2_000;

const NAMES = ['Ana', 'Bruno', 'Carla', 'Diego', 'Elisa', 'Fábio', 'Gabi', 'Hugo', 'Iara', 'João'];
const NEWS = ['foi confirmado', 'saiu para entrega', 'está a caminho', 'foi faturado', 'aguarda retirada'];
const TIMES = ['hoje', 'amanhã cedo', 'na sexta-feira', 'até as 18h', 'na próxima semana'];
const ENDS = [
  'Obrigado!',
  'Qualquer dúvida, responda aqui.',
  'Até logo.',
  'Equipe de entregas.',
  'Boa compra!',
];

export class Traffic {
  readonly #options: TrafficOptions;
  readonly #answered: Buffer[] = [];
  #newContacts = 0;
  #sent = 0;

  constructor(options: TrafficOptions) {
    this.#options = options;
  }

  /** One message to each conversation, to create it. */
  *first(): Generator<TrafficRequest> {
    for (let i = 0; i < this.#options.conversations; i++) {
      yield { bytes: this.#request(i % this.#options.instances.length, knownPhone(i)), repeat: false };
    }
  }

  next(): TrafficRequest {
    const dice = Math.random();
    if (dice < REPEATS && this.#answered.length === REMEMBERED) {
      return { bytes: pick(this.#answered), repeat: true };
    }
    const { instances, conversations, run } = this.#options;
    if (dice < REPEATS + NEW_CONTACTS) {
      const phone = `55219${String(run)}${String(this.#newContacts++).padStart(7, '0')}`;
      return { bytes: this.#request(Math.floor(Math.random() * instances.length), phone), repeat: false };
    }
    const index = Math.floor(Math.random() * conversations);
    return { bytes: this.#request(index % instances.length, knownPhone(index)), repeat: false };
  }

  /** Allows repeats of an answered request. */
  answered({ bytes, repeat }: TrafficRequest): void {
    if (repeat) return;
    if (this.#answered.length < REMEMBERED) this.#answered.push(bytes);
    else this.#answered[this.#sent++ % REMEMBERED] = bytes;
  }

  #request(instance: number, to: string): Buffer {
    const { instances, apiKeys } = this.#options;
    const order = String(Math.floor(Math.random() * 1e6));
    const body = JSON.stringify({
      instance_id: instances[instance],
      to,
      type: 'text',
      text: {
        body: `Olá, ${pick(NAMES)}! Seu pedido ${order} ${pick(NEWS)} e chega ${pick(TIMES)}. ${pick(ENDS)}`,
        preview_url: false,
      },
    });
    return Buffer.from(
      `POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${apiKeys[instance % apiKeys.length]}\r\n` +
        `Content-Type: application/json\r\nIdempotency-Key: ${randomUUID()}\r\n` +
        `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
  }
}

const knownPhone = (index: number) => `55119${String(80_000_000 + index)}`;

function pick<T>(values: readonly T[]): T {
  return values[Math.floor(Math.random() * values.length)]!;
}
