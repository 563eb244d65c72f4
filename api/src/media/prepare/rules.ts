import type { MessageType } from '@gwk/core/resources/message';
import { bareType } from '../sniff.js';
import { CONTAINERS } from '@gwk/core/decoder/formats';
import type { PictureDecoder, ToolPlan } from '@gwk/core/decoder/jobs';

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
export type Plan = Exclude<ToolPlan, { tool: 'thumbnail' | 'page' }> | null;

/** Decoders of pictures, by sniffed type. */
const PICTURES: Readonly<Record<string, PictureDecoder>> = {
  ...{ 'image/jpeg': 'sharp', 'image/png': 'sharp', 'image/apng': 'sharp', 'image/webp': 'sharp' },
  ...{ 'image/gif': 'sharp', 'image/avif': 'sharp', 'image/tiff': 'sharp', 'image/bmp': 'bmp' },
  ...{
    'image/heic': 'heic',
    'image/heif': 'heic',
    'image/heic-sequence': 'heic',
    'image/heif-sequence': 'heic',
  },
};

const WEBP = 'image/webp';

type Kind = Extract<MessageType, 'image' | 'video' | 'document' | 'audio' | 'sticker'>;

/** `small`: the standard version of a picture that also comes in HD. */
type Variant = 'voice' | 'round' | 'small' | null;

const PLANS: Record<Kind, (sniffed: string, variant: Variant) => Plan> = {
  document: () => null,
  sticker(sniffed) {
    const container = findFilm(sniffed);
    if (container !== null) return { tool: 'sticker', decoder: 'ffmpeg', container };
    const decoder = PICTURES[sniffed];
    return decoder ? { tool: 'sticker', decoder } : unfit('a picture or a video');
  },
  image(sniffed, variant) {
    const small = variant === 'small' ? ({ small: true } as const) : {};
    if (sniffed === 'image/gif') return { tool: 'gif', ...small };
    if (sniffed === WEBP) return { tool: 'webp', film: false, ...small };
    const decoder = PICTURES[sniffed];
    return decoder ? { tool: 'image', decoder, ...small } : unfit('a picture');
  },
  video(sniffed, variant) {
    if (sniffed === WEBP && variant !== 'round') return { tool: 'webp', film: true };
    const container = findFilm(sniffed);
    if (container === null) return unfit('a video');
    return { tool: 'video', container, ...(variant === 'round' && { round: true }) };
  },
  audio(sniffed, variant) {
    const container = CONTAINERS[sniffed];
    if (container === undefined || sniffed.startsWith('image/')) return unfit('audio');
    return { tool: 'audio', container, voice: variant === 'voice', film: sniffed.startsWith('video/') };
  },
};

/** Container of a film; an animation is one. Null: the file is none. */
const findFilm = (type: string): string | null =>
  type.startsWith('video/') || type === 'image/gif' ? (CONTAINERS[type] ?? null) : null;

/** Decides the conversion. Only the sniffed type selects a decoder. @throws MediaUnavailable if the type does not fit */
export function planPreparation(type: MessageType, sniffed: string, variant: Variant): Plan {
  return PLANS[type as Kind](sniffed, variant);
}

function unfit(expected: string): never {
  throw new MediaUnavailable(`the file is not ${expected} that can be sent`);
}

/**
 * Decides the media type that the recipient sees. `given` from the request may override the sniffed type of a document; for
 * a decoded file that was not converted it may only change the subtype.
 */
export function chooseMimetype(plan: Plan, sniffed: string, given: string | null): string {
  const requested = bareType(given);
  if (plan === null) return requested ?? sniffed;
  const mayRename = plan.tool === 'video' || plan.tool === 'audio';
  return mayRename && requested?.startsWith(`${plan.tool}/`) ? requested : sniffed;
}
