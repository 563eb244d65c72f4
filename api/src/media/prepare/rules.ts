import type { MessageType } from '@gwk/core/resources/message';
import { bareType } from '../sniff.js';
import type { ToolPlan } from '../tools/jobs.js';

/** The file of a message cannot be fetched or used. The API shows the error's message to the consumer. */
export class MediaUnavailable extends Error {
  override name = 'MediaUnavailable';
  /** A retry may succeed. */
  readonly temporary: boolean;

  constructor(message: string, { temporary = false, cause }: { temporary?: boolean; cause?: unknown } = {}) {
    super(message, { cause });
    this.temporary = temporary;
  }
}

/** Check and conversion of a file before it is sent. Null: it is sent unchanged. */
export type Plan = Exclude<ToolPlan, { tool: 'thumbnail' }> | null;

/** The only container formats passed to ffmpeg, by sniffed type. */
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

const DISPLAYABLE: ReadonlySet<string> = new Set(['image/jpeg', 'image/png']);
const CONVERTIBLE: ReadonlySet<string> = new Set(['image/webp', 'image/gif', 'image/avif']);

type Kind = Extract<MessageType, 'image' | 'video' | 'document' | 'audio' | 'sticker'>;

const PLANS: Record<Kind, (sniffed: string, voice: boolean) => Plan> = {
  document: () => null,
  sticker: (sniffed) => (sniffed === 'image/webp' ? { tool: 'sticker' } : unfit('a WebP')),
  image(sniffed) {
    if (DISPLAYABLE.has(sniffed)) return { tool: 'image', keep: true };
    return CONVERTIBLE.has(sniffed) ? { tool: 'image', keep: false } : unfit('a picture');
  },
  video(sniffed) {
    const container = CONTAINERS[sniffed];
    return container !== undefined && isVideo(sniffed) ? { tool: 'video', container } : unfit('a video');
  },
  audio(sniffed, voice) {
    const container = CONTAINERS[sniffed];
    if (container === undefined) return unfit('audio');
    return { tool: 'audio', container, to: voice ? 'voice' : isVideo(sniffed) ? 'aac' : null };
  },
};

const isVideo = (type: string): boolean => type.startsWith('video/');

/** Decides the conversion. Only the sniffed type selects a decoder. @throws MediaUnavailable if the type does not fit */
export function planPreparation(type: MessageType, sniffed: string, voice: boolean): Plan {
  return PLANS[type as Kind](sniffed, voice);
}

function unfit(expected: string): never {
  throw new MediaUnavailable(`the file is not ${expected} that can be sent`);
}

const VOICE_TYPE = 'audio/ogg; codecs=opus';

/**
 * Decides the media type that the recipient sees. `given` from the request may override the sniffed type of a document; for
 * a decoded file it may only change the subtype.
 */
export function chooseMimetype(plan: Plan, sniffed: string, given: string | null): string {
  const requested = bareType(given);
  if (plan === null) return requested ?? sniffed;
  switch (plan.tool) {
    case 'sticker':
      return sniffed;
    case 'image':
      return plan.keep ? sniffed : 'image/jpeg';
    case 'audio':
      if (plan.to !== null) return plan.to === 'voice' ? VOICE_TYPE : 'audio/mp4';
  }
  return requested?.startsWith(`${plan.tool}/`) ? requested : sniffed;
}
