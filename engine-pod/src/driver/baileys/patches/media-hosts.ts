import { json } from 'node:stream/consumers';
import {
  DEFAULT_ORIGIN,
  encodeBase64EncodedStringForUpload,
  getBinaryNodeChild,
  getBinaryNodeChildren,
  MEDIA_PATH_MAP,
  type BinaryNode,
  type MediaType,
  type WASocket,
} from '@whiskeysockets/baileys';
import type { Logger } from '@gwk/core/process/log';
import { SendFailure } from '../../driver.js';
import type { NetworkRoute } from '../connection/network-route.js';

type Hosts = Awaited<ReturnType<WASocket['refreshMediaConn']>>;

const HOSTS_QUERY: BinaryNode = {
  tag: 'iq',
  attrs: { type: 'set', xmlns: 'w:m', to: 's.whatsapp.net' },
  content: [{ tag: 'media_conn', attrs: {} }],
};

const HEADERS = { 'content-type': 'application/octet-stream', Origin: DEFAULT_ORIGIN };

/** Statuses with which a host refuses the file itself. Another attempt is refused too. */
const REFUSALS: Readonly<Record<number, string>> = {
  413: 'the network refuses a file of this size (413)',
  415: 'the network refuses this type of file (415)',
};

/**
 * The network's hosts for files, per connection. Baileys queries them too, but caches a failed query: after one
 * failure no file can be transferred for the rest of the connection. Its upload ignores the status of the answer, so a
 * file that is refused for good would be uploaded again and again.
 */
export class MediaHosts {
  readonly #socket: Pick<WASocket, 'query'>;
  #known: Hosts | undefined;
  #querying: Promise<Hosts> | undefined;

  constructor(
    socket: Pick<WASocket, 'query'>,
    private readonly log: Logger,
    private readonly route: Pick<NetworkRoute, 'post'>,
  ) {
    this.#socket = socket;
  }

  /**
   * Uploads an encrypted file to the first host that takes it.
   * @param timeoutMs longest time without a byte
   * @throws SendFailure if the network refuses the file
   */
  async upload(
    path: string,
    { mediaType, sha256, timeoutMs }: { mediaType: MediaType; sha256: Buffer; timeoutMs: number },
  ): Promise<{ url: string; directPath: string }> {
    const name = encodeBase64EncodedStringForUpload(sha256.toString('base64'));
    const { hosts } = await this.#findHosts(false);
    for (const { hostname } of hosts) {
      const { auth } = await this.#findHosts(false);
      const url = `https://${hostname}${MEDIA_PATH_MAP[mediaType]}/${name}?auth=${encodeURIComponent(auth)}&token=${name}`;
      const uploaded = await this.#post(url, path, timeoutMs).catch((error: unknown) => {
        if (error instanceof SendFailure) throw error;
        this.log.warn({ err: error, host: hostname }, 'upload of a file failed');
      });
      if (uploaded) return uploaded;
    }
    throw new Error('no media host took the file');
  }

  async #post(url: string, path: string, timeoutMs: number): Promise<{ url: string; directPath: string }> {
    const { ok, status, body } = await this.route.post(url, HEADERS, path, timeoutMs);
    const refusal = REFUSALS[status];
    if (refusal !== undefined) {
      body.destroy();
      throw SendFailure.refused('wa_error', refusal);
    }
    const answer = (await json(body)) as { url?: string; direct_path?: string };
    if (ok && answer.url && answer.direct_path) return { url: answer.url, directPath: answer.direct_path };
    // The authorisation may have expired.
    await this.#findHosts(true);
    throw new Error(`the host answered ${status}`);
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
