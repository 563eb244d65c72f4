import type { MessageType } from '@gwk/core/resources/message';
import { bareType } from '../sniff.js';
import { Unavailable } from './unavailable.js';

/**
 * What is to be done with a file so that it can be sent as what it is meant to be. Pure: its sniffed type and the
 * request in, a plan out. Only sniffed types lead to a decoder.
 */
export type Plan =
  /** As it is. */
  | { do: 'nothing' }
  | { do: 'image'; keep: boolean }
  | { do: 'sticker' }
  | { do: 'video'; container: string }
  | { do: 'audio'; container: string; to: 'voice' | 'aac' | null };

/** Containers by the type that was sniffed: those that ffmpeg may be told, and no others. */
const CONTAINERS: Readonly<Record<string, string>> = {
  'audio/mpeg': 'mp3',
  'audio/mp4': 'mov',
  'audio/aac': 'aac',
  'audio/ogg': 'ogg',
  'audio/wav': 'wav',
  'audio/flac': 'flac',
  'audio/amr': 'amr',
  'audio/aiff': 'aiff',
  'audio/webm': 'matroska',
  'video/mp4': 'mov',
  'video/quicktime': 'mov',
  'video/3gpp': 'mov',
  'video/3gpp2': 'mov',
  'video/webm': 'matroska',
  'video/x-matroska': 'matroska',
  'video/x-msvideo': 'avi',
  'video/ogg': 'ogg',
  'video/mpeg': 'mpeg',
};

const SHOWN: ReadonlySet<string> = new Set(['image/jpeg', 'image/png']);
const CONVERTIBLE: ReadonlySet<string> = new Set(['image/webp', 'image/gif', 'image/avif']);

type Kind = Extract<MessageType, 'image' | 'video' | 'document' | 'audio' | 'sticker'>;

const PLANS: Record<Kind, (sniffed: string, voice: boolean) => Plan> = {
  document: () => ({ do: 'nothing' }),
  sticker: (sniffed) => (sniffed === 'image/webp' ? { do: 'sticker' } : unfit('a WebP')),
  image(sniffed) {
    if (SHOWN.has(sniffed)) return { do: 'image', keep: true };
    return CONVERTIBLE.has(sniffed) ? { do: 'image', keep: false } : unfit('a picture');
  },
  video(sniffed) {
    const container = CONTAINERS[sniffed];
    return container !== undefined && isFilm(sniffed) ? { do: 'video', container } : unfit('a film');
  },
  audio(sniffed, voice) {
    const container = CONTAINERS[sniffed];
    if (container === undefined) return unfit('a sound');
    return { do: 'audio', container, to: voice ? 'voice' : isFilm(sniffed) ? 'aac' : null };
  },
};

const isFilm = (type: string): boolean => type.startsWith('video/');

/** @throws Unavailable where the file cannot be sent as that */
export function planOf(type: MessageType, sniffed: string, voice: boolean): Plan {
  return PLANS[type as Kind](sniffed, voice);
}

function unfit(what: string): never {
  throw new Unavailable(`the file is not ${what} that can be sent`);
}

export const VOICE_TYPE = 'audio/ogg; codecs=opus';

/**
 * The type that the recipient is told. `given` corrects what a server says of a file; what has been decoded here is
 * known, and is corrected within its kind only.
 */
export function typeOf(plan: Plan, sniffed: string, given: string | null): string {
  const wished = bareType(given);
  switch (plan.do) {
    case 'nothing':
      return wished ?? sniffed;
    case 'sticker':
      return sniffed;
    case 'image':
      return plan.keep ? sniffed : 'image/jpeg';
    case 'audio':
      if (plan.to !== null) return plan.to === 'voice' ? VOICE_TYPE : 'audio/mp4';
  }
  return wished?.startsWith(`${plan.do}/`) ? wished : sniffed;
}
