/** Programs that decode pictures: libvips, libheif in WebAssembly, and ffmpeg for BMP. */
export const PICTURE_DECODERS = ['sharp', 'heic', 'bmp'] as const;
export type PictureDecoder = (typeof PICTURE_DECODERS)[number];

export type StickerPlan =
  { tool: 'sticker'; decoder: PictureDecoder } | { tool: 'sticker'; decoder: 'ffmpeg'; container: string };

/** Work of a tool on a file. */
export type ToolPlan =
  /** Checks a picture, and converts it to JPEG if phones do not show it as it is. `small`: it also shrinks a large one. */
  | { tool: 'image'; decoder: PictureDecoder; small?: true }
  /** Makes a looping film of an animated GIF, else a JPEG. */
  | { tool: 'gif'; small?: true }
  /** Makes them of a WebP instead. `film`: a still one is refused. */
  | { tool: 'webp'; film: boolean; small?: true }
  /** Makes a WebP of 512x512 pixels. */
  | StickerPlan
  /** Makes a small JPEG of the picture of a link preview, and a larger one if the picture has more pixels. */
  | { tool: 'thumbnail' }
  /** Reads the head of an HTML page. `charset`: as its server states it. */
  | { tool: 'page'; charset: string | null }
  /** Converts a film if phones do not play it as it is. `round`: it also cuts it to a square. */
  | { tool: 'video'; container: string; round?: true }
  /** Measures the audio, and converts it if phones do not play it as it is. `film`: the file has a video. */
  | { tool: 'audio'; container: string; voice: boolean; film: boolean };

/** Job of a tool with its files, sent as JSON to its process (decoder/bin/tool.js). */
export type ToolJob = ToolPlan & {
  input: string;
  output: string;
  /** Id of the message, for the log. */
  message?: string;
};

export interface JobLimits {
  timeMs: number;
  memoryMb: number;
}

/** Whether a job may run ffmpeg. */
export const needsFfmpeg = (plan: ToolPlan): boolean =>
  ['audio', 'video', 'gif'].includes(plan.tool) ||
  ('decoder' in plan && ['bmp', 'ffmpeg'].includes(plan.decoder));

/** Whether a job may encode a film. */
export const encodesFilm = ({ tool }: ToolPlan): boolean => ['video', 'gif', 'webp'].includes(tool);

/** Comes before the answer of a job, and before the job reads its file. JSON may begin with it. */
export const STARTED = '\n';

/** Texts for a link preview. */
export interface PageMetadata {
  title: string | null;
  description: string | null;
  /** URL of a picture, as the page states it. */
  image: string | null;
}

export const RESULT_TYPES = [
  'image/jpeg',
  'image/webp',
  'video/mp4',
  'audio/mp4',
  'audio/ogg; codecs=opus',
] as const;

export interface ToolAnswer {
  width?: number;
  height?: number;
  animated?: boolean;
  duration_s?: number;
  waveform?: string;
  thumbnail?: string;
  page?: PageMetadata;
  /** `output` was written. */
  converted?: boolean;
  /** Type of the written file, or a more exact one of the source. */
  mimetype?: (typeof RESULT_TYPES)[number];
  /** The film is an animation without sound, which the apps repeat. */
  gif?: boolean;
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

/**
 * Lines of ffmpeg or libvips. The texts of a file that ffmpeg shows are indented. A lack of memory is not among them: the
 * limit of the process causes it.
 */
const LACKS: readonly [RegExp, string][] = [
  [/^\S.*: (No space left on device|Disk quota exceeded)$/m, 'the disk is full'],
  [/^\S.*: Too many open files( in system)?$/m, 'the decoder lacks file handles'],
];

/** Returns the fault if a tool reports a lack of this machine. ffmpeg 5 then writes a part of the file and succeeds. */
export function readMachineFault(messages: string): ToolNotStarted | null {
  const [, words] = LACKS.find(([line]) => line.test(messages)) ?? [];
  return words === undefined ? null : new ToolNotStarted(words);
}

/** Longest sounds and films, in hours. */
export const MAX_HOURS = { voice: 1, audio: 3, video: 3 } as const;
/** Longest name of a character encoding. */
export const MAX_CHARSET = 40;
export const MAX_PIXELS = 50_000_000;
export const THUMBNAIL_WIDTH = 72;
/** Longest sides of the pictures of a link preview: in the message, and uploaded for the width of a phone. */
export const PREVIEW_SIDES = { small: 192, large: 1_200 } as const;
export const STICKER_SIDE = 512;
/** Longest side of the standard version of a picture, as in the apps. */
export const STANDARD_SIDE = 1_600;
export const WAVEFORM_POINTS = 64;
