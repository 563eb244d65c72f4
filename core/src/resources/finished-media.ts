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
  /** The film is an animation, which the apps repeat without sound. Also for a message of the type image. */
  gif?: boolean;
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
  /** A larger JPEG, which the engine uploads. Absent: the small one has all pixels. */
  picture?: { file: string; sha256: string; width: number; height: number };
}
