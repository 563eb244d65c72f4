import {
  getBinaryNodeChild,
  getBinaryNodeChildren,
  getWAUploadToServer,
  type BinaryNode,
  type WASocket,
} from '@whiskeysockets/baileys';
import type { Agent } from 'node:https';
import type { Logger } from '@gwk/core/process/log';
import { createBaileysLogger } from '../connection/baileys-logger.js';

type Upload = ReturnType<typeof getWAUploadToServer>;
type Hosts = Awaited<ReturnType<WASocket['refreshMediaConn']>>;

const HOSTS_QUERY: BinaryNode = {
  tag: 'iq',
  attrs: { type: 'set', xmlns: 'w:m', to: 's.whatsapp.net' },
  content: [{ tag: 'media_conn', attrs: {} }],
};

/**
 * The network's hosts for files, per connection. Baileys queries them too, but caches a failed query: after one
 * failure no file can be transferred for the rest of the connection.
 */
export class MediaHosts {
  readonly #socket: Pick<WASocket, 'query'>;
  #known: Hosts | undefined;
  #querying: Promise<Hosts> | undefined;
  /** Uploads a file that is already encrypted. */
  readonly upload: Upload;

  /** @param agent of uploads; undefined: no proxy */
  constructor(socket: Pick<WASocket, 'query'>, log: Logger, agent?: Agent) {
    this.#socket = socket;
    const config = {
      customUploadHosts: [],
      fetchAgent: agent,
      logger: createBaileysLogger(log),
      options: {},
    };
    this.upload = getWAUploadToServer(config as never, (isForced) => this.#findHosts(isForced));
  }

  /** The first host, for downloads. */
  async findDownloadHost(): Promise<string> {
    const { hosts } = await this.#findHosts(false);
    if (!hosts[0]) throw new Error('the network named no media host');
    return hosts[0].hostname;
  }

  #findHosts(isForced: boolean): Promise<Hosts> {
    const known = this.#known;
    if (known && !isForced && Date.now() - known.fetchDate.getTime() <= known.ttl * 1_000)
      return Promise.resolve(known);
    this.#querying ??= this.#queryHosts().finally(() => (this.#querying = undefined));
    return this.#querying;
  }

  async #queryHosts(): Promise<Hosts> {
    const answer = (await this.#socket.query(HOSTS_QUERY)) as BinaryNode | undefined;
    const hostsNode = getBinaryNodeChild(answer, 'media_conn');
    if (!hostsNode) throw new Error('the network named no media hosts');
    const hosts = getBinaryNodeChildren(hostsNode, 'host').map(({ attrs }) => ({
      hostname: attrs['hostname'] ?? '',
      maxContentLengthBytes: Number.NaN,
    }));
    const { auth = '', ttl } = hostsNode.attrs;
    this.#known = { hosts, auth, ttl: Number(ttl ?? 0), fetchDate: new Date() };
    return this.#known;
  }
}
