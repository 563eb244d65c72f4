/** What a tool is asked, and what it answers: JSON between the worker and api/bin/media-tool.js. */
export type ToolJob =
  /** Checks a picture, and converts it to JPEG (`output`) where it is of a form that phones do not show. */
  | { tool: 'image'; input: string; output: string; keep: boolean }
  /** WebP of 512x512. */
  | { tool: 'sticker'; input: string }
  /** A small JPEG of any picture. */
  | { tool: 'thumbnail'; input: string }
  | { tool: 'video'; input: string; container: string; thumbnail: string }
  /** `to`: convert to it (`output`); null: measure alone. */
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

/** What the tool says of a file that is not what it has to be, or of a machine that cannot run it; any other end is a crash. */
export type ToolRefusal = { refused: string } | { notRun: string };

export const THUMBNAIL_WIDTH = 72;
export const STICKER_SIDE = 512;
export const WAVEFORM_POINTS = 64;
