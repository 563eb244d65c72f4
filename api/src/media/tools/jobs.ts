/** Work of a tool on a file. */
export type ToolPlan =
  /** Checks a picture. Without `keep`, also converts it to JPEG. */
  | { tool: 'image'; keep: boolean }
  /** Checks a WebP of 512x512 pixels. */
  | { tool: 'sticker' }
  /** Makes a small JPEG of any picture. */
  | { tool: 'thumbnail' }
  | { tool: 'video'; container: string }
  /** Converts the audio; null: measures it only. */
  | { tool: 'audio'; container: string; to: 'voice' | 'aac' | null };

/** Job of a tool with its files, sent as JSON from the worker to api/bin/media-tool.js. */
export type ToolJob = ToolPlan & { input: string; output: string };

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
