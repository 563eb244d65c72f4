/**
 * Results of the worker's preparation of a message, which are stored beside its original content. Types only, because
 * engines import them.
 */
export interface FinishedMedia {
  /** UUID of the prepared file. The engine downloads it by the id of the message. */
  file: string;
  mimetype: string;
  size: number;
  /** In hex. */
  sha256: string;
  filename: string | null;
  width?: number;
  height?: number;
  duration_s?: number;
  /** 64 points from 0 to 100, one byte each, in base64. */
  waveform?: string;
  /** Whether a sticker is animated. */
  animated?: boolean;
  /** A small JPEG in base64. */
  thumbnail?: string;
}

export interface LinkPreview {
  /** As written in the text. */
  url: string;
  title: string;
  description: string | null;
  /** A small JPEG in base64. */
  thumbnail: string | null;
}
