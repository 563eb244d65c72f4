import { newUuid } from '@gwk/client';
import type { SendBody } from '../messages/examples';
import type { Content, MessageRow } from './rows';

export interface DraftFile {
  file: File;
  /** Idempotency-Key of the upload. */
  key: string;
}

/** A message that is not sent yet. */
export interface Draft {
  text: string;
  files: readonly DraftFile[];
  replyTo: MessageRow | null;
  /** Idempotency-Key of its next message. Each change of the draft makes another one. */
  key: string;
}

export const newDraft = (): Draft => ({ text: '', files: [], replyTo: null, key: newUuid() });

export const isEmpty = ({ text, files }: Draft): boolean => text.trim() === '' && files.length === 0;

/** Only documents may be larger. */
const MAX_FILM_BYTES = 67_108_864;
const PICTURE = /^image\/(?:jpeg|png|webp|gif|avif|tiff|bmp|heic|heif)$/;

/** The type of message that shows a file best. */
export function chooseType(mimetype: string, size: number): 'image' | 'video' | 'audio' | 'document' {
  if (size > MAX_FILM_BYTES) return 'document';
  if (PICTURE.test(mimetype)) return 'image';
  if (mimetype.startsWith('video/')) return 'video';
  return mimetype.startsWith('audio/') ? 'audio' : 'document';
}

type Part = Pick<SendBody, 'type'> & Partial<SendBody>;

interface Planned {
  part: Part;
  content: Content;
  /** The part of the draft that later messages send. */
  rest: Draft;
}

export type Uploaded = {
  id: string;
  mimetype: string;
  size: number;
  sha256: string;
  filename: string | null;
};

/** Plans the next message of a draft: its first file with the text as caption, if it can have one; else the text. */
export function planPart(draft: Draft, file: Uploaded | null): Planned {
  const rest = { ...newDraft(), files: draft.files.slice(1) };
  const text = draft.text.trim();
  if (!file) return { part: { type: 'text', text: { body: text } }, content: { type: 'text', text }, rest };
  const type = chooseType(file.mimetype, file.size);
  const { id: media_id, mimetype, size, sha256, filename } = file;
  const media = { media_id, ...(type === 'document' && filename !== null && { filename }) };
  const caption = type === 'audio' || text === '' ? {} : { caption: text };
  const shown = { media_id, mimetype, size, sha256, ...(filename !== null && { filename }) };
  return {
    part: { type, [type]: { media, ...caption } },
    content: { type, media: shown, ...(text !== '' && type !== 'audio' && { text }) },
    rest: type === 'audio' ? { ...rest, text: draft.text } : rest,
  };
}
