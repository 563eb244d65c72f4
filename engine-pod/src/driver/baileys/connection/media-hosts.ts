import { getWAUploadToServer, type BinaryNode, type WASocket } from '@whiskeysockets/baileys';
import type { Logger } from '@gwk/core/log';
import { libraryLogger } from './baileys-logger.js';

type Upload = ReturnType<typeof getWAUploadToServer>;
type Hosts = Awaited<ReturnType<WASocket['refreshMediaConn']>>;

const QUESTION: BinaryNode = {
  tag: 'iq',
  attrs: { type: 'set', xmlns: 'w:m', to: 's.whatsapp.net' },
  content: [{ tag: 'media_conn', attrs: {} }],
};

/**
 * The hosts for files, as the network names them to one connection. Baileys asks as well, but keeps a question that
 * failed: after it no file comes or goes for as long as the connection lasts.
 */
export class MediaHosts {
  readonly #socket: Pick<WASocket, 'query'>;
  #known: Hosts | undefined;
  #asking: Promise<Hosts> | undefined;
  /** Encrypts nothing: puts up a file that is encrypted already. */
  readonly upload: Upload;

  constructor(socket: Pick<WASocket, 'query'>, log: Logger) {
    this.#socket = socket;
    const config = { customUploadHosts: [], fetchAgent: undefined, logger: libraryLogger(log), options: {} };
    this.upload = getWAUploadToServer(config as never, (isForced) => this.#hosts(isForced));
  }

  /** The first of them, for downloads. */
  async first(): Promise<string> {
    const { hosts } = await this.#hosts(false);
    if (!hosts[0]) throw new Error('the network names no media host');
    return hosts[0].hostname;
  }

  #hosts(isForced: boolean): Promise<Hosts> {
    const known = this.#known;
    if (known && !isForced && Date.now() - known.fetchDate.getTime() <= known.ttl * 1_000)
      return Promise.resolve(known);
    this.#asking ??= this.#ask().finally(() => (this.#asking = undefined));
    return this.#asking;
  }

  async #ask(): Promise<Hosts> {
    const answer = (await this.#socket.query(QUESTION)) as BinaryNode | undefined;
    const named = childOf(answer, 'media_conn');
    if (!named) throw new Error('the network names no media hosts');
    const nodes = Array.isArray(named.content) ? named.content : [];
    const hosts = nodes
      .filter(({ tag }) => tag === 'host')
      .map(({ attrs }) => ({ hostname: attrs['hostname'] ?? '', maxContentLengthBytes: Number.NaN }));
    const { auth = '', ttl } = named.attrs;
    this.#known = { hosts, auth, ttl: Number(ttl ?? 0), fetchDate: new Date() };
    return this.#known;
  }
}

function childOf(node: BinaryNode | undefined, name: string): BinaryNode | undefined {
  return Array.isArray(node?.content) ? node.content.find(({ tag }) => tag === name) : undefined;
}
