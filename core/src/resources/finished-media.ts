/**
 * What the worker finishes of a message before it can be claimed, beside the content as it was given. Types only: an
 * engine reads them.
 */
export interface FinishedMedia {
  /** UUID of the file that the engine is given, which asks for it by the message. */
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
  /** A sticker that moves. */
  animated?: boolean;
  /** A small JPEG in base64. */
  thumbnail?: string;
}

export interface LinkPreview {
  /** As it stands in the text. */
  url: string;
  title: string;
  description: string | null;
  /** A small JPEG in base64. */
  thumbnail: string | null;
}
