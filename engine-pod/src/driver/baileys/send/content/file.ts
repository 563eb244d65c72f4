import type { Renderer, RenderInput } from './renderer.js';

export const renderImage: Renderer = (input) => {
  if (input.content.finished!.gif) return renderVideo(input);
  const { file, caption, picture } = describeFile(input);
  return { message: { imageMessage: { ...file, ...caption, ...picture } } };
};

export const renderVideo: Renderer = (input) => {
  const { file, caption, picture, duration } = describeFile(input);
  // The apps repeat an animation without sound.
  const gif = input.content.finished!.gif ? { gifPlayback: true } : {};
  const film = { ...file, ...caption, ...picture, ...duration, ...gif };
  return { message: input.content.video?.round ? { ptvMessage: film } : { videoMessage: film } };
};

export const renderDocument: Renderer = (input) => {
  const { file, caption, picture } = describeFile(input);
  const fileName = input.content.finished!.filename ?? 'file';
  return { message: { documentMessage: { ...file, ...caption, ...picture, fileName, title: fileName } } };
};

export const renderAudio: Renderer = (input) => {
  const { file, duration } = describeFile(input);
  const { finished, audio } = input.content;
  const waveform = audio!.voice ? decodeBase64(finished!.waveform) : null;
  return { message: { audioMessage: { ...file, ...duration, ptt: audio!.voice, waveform } } };
};

export const renderSticker: Renderer = (input) => {
  const { file, size } = describeFile(input);
  const isAnimated = input.content.finished!.animated ?? false;
  return { message: { stickerMessage: { ...file, ...size, isAnimated } } };
};

/** The fields that several types of files have. A null is not encoded. */
function describeFile({ content, file }: RenderInput) {
  const { mimetype, width, height, thumbnail, duration_s } = content.finished!;
  const size = { width: width ?? null, height: height ?? null };
  return {
    file: { ...file!, mimetype },
    caption: { caption: (content.image ?? content.video ?? content.document)?.caption || null },
    size,
    picture: { ...size, jpegThumbnail: decodeBase64(thumbnail) },
    duration: { seconds: duration_s === undefined ? null : Math.max(1, Math.round(duration_s)) },
  };
}

const decodeBase64 = (text: string | undefined): Buffer | null =>
  text === undefined ? null : Buffer.from(text, 'base64');
