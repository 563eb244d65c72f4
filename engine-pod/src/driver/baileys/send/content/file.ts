import type { FinishedMedia } from '@gwk/core/resources/finished';
import type { Draw, Drawing } from './renderer.js';

export const drawImage: Draw = (drawing) => ({
  message: { imageMessage: { ...common(drawing), ...caption(drawing, 'image'), ...picture(drawing) } },
});

export const drawVideo: Draw = (drawing) => ({
  message: {
    videoMessage: {
      ...common(drawing),
      ...caption(drawing, 'video'),
      ...picture(drawing),
      ...seconds(drawing),
    },
  },
});

export const drawDocument: Draw = (drawing) => {
  const { filename } = finishedOf(drawing);
  const fileName = filename ?? 'file';
  return {
    message: {
      documentMessage: {
        ...common(drawing),
        ...caption(drawing, 'document'),
        ...picture(drawing),
        fileName,
        title: fileName,
      },
    },
  };
};

export const drawAudio: Draw = (drawing) => {
  const { waveform } = finishedOf(drawing);
  const isVoice = drawing.content.audio!.voice;
  return {
    message: {
      audioMessage: {
        ...common(drawing),
        ...seconds(drawing),
        ptt: isVoice,
        ...(isVoice && waveform !== undefined && { waveform: Buffer.from(waveform, 'base64') }),
      },
    },
  };
};

export const drawSticker: Draw = (drawing) => {
  const { animated, width, height } = finishedOf(drawing);
  return {
    message: {
      stickerMessage: {
        ...common(drawing),
        isAnimated: animated ?? false,
        ...(width !== undefined && { width }),
        ...(height !== undefined && { height }),
      },
    },
  };
};

const finishedOf = ({ content }: Drawing): FinishedMedia => content.finished!;

function common(drawing: Drawing) {
  return { ...drawing.file!, mimetype: finishedOf(drawing).mimetype };
}

function caption({ content }: Drawing, type: 'image' | 'video' | 'document') {
  const said = content[type]!.caption;
  return said ? { caption: said } : {};
}

function picture(drawing: Drawing) {
  const { width, height, thumbnail } = finishedOf(drawing);
  return {
    ...(width !== undefined && { width }),
    ...(height !== undefined && { height }),
    ...(thumbnail !== undefined && { jpegThumbnail: Buffer.from(thumbnail, 'base64') }),
  };
}

function seconds(drawing: Drawing) {
  const { duration_s } = finishedOf(drawing);
  return duration_s === undefined ? {} : { seconds: Math.max(1, Math.round(duration_s)) };
}
