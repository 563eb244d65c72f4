/** Job of a tool, sent as JSON from the worker to api/bin/media-tool.js. */
export type ToolJob =
  /** Checks a picture. Without `keep`, also converts it to JPEG (`output`). */
  | { tool: 'image'; input: string; output: string; keep: boolean }
  /** Checks a WebP of 512x512 pixels. */
  | { tool: 'sticker'; input: string }
  /** Makes a small JPEG of any picture. */
  | { tool: 'thumbnail'; input: string }
  | { tool: 'video'; input: string; container: string; thumbnail: string }
  /** Converts the audio to `to` (`output`); null: measures it only. */
  | { tool: 'audio'; input: string; container: string; output: string; to: 'voice' | 'aac' | null };

export interface ToolAnswer {
  width?: number;
  height?: number;
  animated?: boolean;
  duration_s?: number;
  waveform?: string;
  thumbnail?: string;
  /** `output` was written. */
  converted?: boolean;
}

/** Answer of a tool that rejects the file (`refused`) or cannot run on this machine. Every other exit is a crash. */
export type ToolRefusal = { refused: string } | { notRun: string };

/** The file cannot be used. The API shows the message to the consumer, so it never quotes the file. */
export class FileRefused extends Error {
  override name = 'FileRefused';
}

/** The tool could not start: a fault of this machine, not of the file. */
export class ToolNotStarted extends Error {
  override name = 'ToolNotStarted';
}

export const THUMBNAIL_WIDTH = 72;
export const STICKER_SIDE = 512;
export const WAVEFORM_POINTS = 64;
