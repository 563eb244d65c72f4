import type { MediaType, proto } from '@whiskeysockets/baileys';
import type { InboundMessage } from '@gwk/core/protocol/engine';
import { backoffDelay } from '../../../../backoff.js';
import type { Clock } from '@gwk/core/clock';
import { pass, unrefClock } from '../../../../clock.js';
import type { DriverContext } from '../../../driver.js';
import type { Link } from '../../connection/link.js';
import type { Envelope } from '../normalise/envelope.js';
import { fetchFile, MAX_BYTES, type Described, type Fault, type Place } from './download.js';

type Kept = NonNullable<InboundMessage['media']>;

interface Attached {
  file: Described;
  type: MediaType;
}

export function fileIn(message: proto.IMessage): Attached | null {
  const { imageMessage, videoMessage, ptvMessage, audioMessage, documentMessage, stickerMessage } = message;
  const found: [Described | null | undefined, MediaType][] = [
    [imageMessage, 'image'],
    [videoMessage, 'video'],
    [ptvMessage, 'video'],
    [audioMessage, 'audio'],
    [documentMessage, 'document'],
    [stickerMessage, 'sticker'],
  ];
  const [file, type] = found.find(([content]) => content) ?? [];
  return file && type ? { file, type } : null;
}

/** Only what is asked of a connection for a file. */
export type FileLink = Pick<Link, 'media'> & {
  socket: Pick<Link['socket'], 'updateMediaMessage'>;
};

export interface FileSource {
  /** Null while there is no connection. */
  link: () => FileLink | null;
  keepFile: DriverContext['keepFile'];
  /** Nobody waits any longer: what is not here by now is lost. */
  over: AbortSignal;
  /** In place of the usual. */
  patience?: Patience;
  clock?: Clock;
}

/** How long each kind of trouble is waited out, from the first one on. The conversation waits too. */
export interface Patience {
  hostMs: number;
  /** Without the API or the network nothing else would come through either. */
  awayMs: number;
}

const PATIENCE: Patience = { hostMs: 120_000, awayMs: 900_000 };
const AGAIN = { first: 500, most: 15_000 };
/** A phone that puts a file up which is gone each time is not asked for ever. */
const MAX_PUT_UP = 3;
/** For an answer of the phone. */
const PHONE_MS = 20_000;

/**
 * Brings the file of a message to the API as it comes, checked by the hash in the message, which its sender has
 * encrypted: what the media host gives is believed in nothing. Asked for from the network's own hosts only, whatever
 * address the message names. While a host, the API or the network itself is away it is tried again, and the entry
 * stays in the journal, so that a kill loses nothing.
 */
export async function keepFile(envelope: Envelope, source: FileSource): Promise<Kept | undefined> {
  const attached = fileIn(envelope.message);
  if (!attached) return undefined;
  const { file, type } = attached;
  if (!file.directPath || !file.mediaKey || !file.fileSha256) return { error: 'unavailable' };
  if (Number(file.fileLength ?? 0) > MAX_BYTES) return { error: 'too_large' };
  const fetched = await bring(attached, envelope, source);
  if (typeof fetched === 'string') return { error: fetched };
  return {
    ...fetched,
    ...(file.seconds && { duration_s: file.seconds }),
    ...(type === 'audio' && { voice: Boolean(file.ptt) }),
  };
}

type Lost = Extract<Kept, { error: string }>['error'];

async function bring(
  { file, type }: Attached,
  envelope: Envelope,
  source: FileSource,
): Promise<{ media_id: string } | Lost> {
  const { clock = unrefClock } = source;
  const began = clock.now();
  let putUpAgain = 0;
  for (let attempt = 1; ; attempt++) {
    const link = source.link();
    const fetched = await fetchFile({ file, type, place: placeOf(link), keep: source.keepFile });
    if (typeof fetched !== 'string') return fetched;
    const trouble = fetched === 'expired' ? await askPhone(envelope, link, clock) : fetched;
    if (trouble === 'put-up-again') {
      if (++putUpAgain > MAX_PUT_UP) return 'expired';
      continue;
    }
    const spentMs = clock.now() - began;
    const lost = lostBy(trouble, source.over.aborted ? Infinity : spentMs, source.patience ?? PATIENCE);
    if (lost !== null) return lost;
    await pass(clock, backoffDelay(AGAIN, attempt), source.over);
  }
}

const placeOf = (link: FileLink | null): Place | null => link && { host: () => link.media.first() };

/** What stands in the way of a file: of the fetch itself, or of the phone that was asked for it. */
export type Trouble = Exclude<Fault, 'expired'> | PhoneTrouble;
type PhoneTrouble = 'phone_silent' | 'phone_has_it_not' | 'no_connection';

/** Null: it is worth trying again. */
export function lostBy(trouble: Trouble, spentMs: number, { hostMs, awayMs }: Patience): Lost | null {
  switch (trouble) {
    case 'hash_mismatch':
    case 'too_large':
      return trouble;
    case 'refused':
      return 'unavailable';
    case 'phone_has_it_not':
      return 'expired';
    case 'phone_silent':
      return spentMs > hostMs ? 'expired' : null;
    case 'host_away':
      return spentMs > hostMs ? 'unavailable' : null;
    case 'api_away':
    case 'no_connection':
      return spentMs > awayMs ? 'unavailable' : null;
  }
}

/** The phone may still have the file, and put it up again: then the message names its new place. */
async function askPhone(
  envelope: Envelope,
  link: FileLink | null,
  clock: Clock,
): Promise<'put-up-again' | PhoneTrouble> {
  if (!link) return 'no_connection';
  const { chat, id, fromMe, from, isGroup, message } = envelope;
  const key = { remoteJid: chat, id, fromMe, ...(isGroup && { participant: from }) };
  const over = new AbortController();
  const late = pass(clock, PHONE_MS, over.signal).then(() => 'phone_silent' as const);
  try {
    const asked = link.socket.updateMediaMessage({ key, message }).then(() => 'put-up-again' as const);
    return await Promise.race([asked, late]);
  } catch (error) {
    return isClosed(error) ? 'no_connection' : 'phone_has_it_not';
  } finally {
    over.abort();
  }
}

const CONNECTION_CLOSED = 428;

const isClosed = (error: unknown): boolean =>
  (error as { output?: { statusCode?: number } } | undefined)?.output?.statusCode === CONNECTION_CLOSED;
