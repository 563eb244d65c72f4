/** An example request for each message type, for OpenAPI. */
const to = { instance_id: 'ins_0199f3a27c1e7b04a1d25c3e8f902b67', to: '5511987654321' };
const media = { media_id: 'med_0199f3a27c1e7b04a1d25c3e8f902b67' };

export const SEND_EXAMPLES = [
  { ...to, type: 'text', text: { body: 'Olá! Seu pedido *1042* saiu para entrega.' } },
  { ...to, type: 'image', image: { media, caption: 'A nova coleção' } },
  { ...to, type: 'video', video: { media: { url: 'https://example.com/files/tour.mp4' } } },
  { ...to, type: 'document', document: { media: { ...media, filename: 'catalog.pdf' } } },
  { ...to, type: 'audio', audio: { media, voice: true } },
  { ...to, type: 'sticker', sticker: { media } },
  { ...to, type: 'location', location: { latitude: -23.5505, longitude: -46.6333, name: 'Loja Centro' } },
  { ...to, type: 'contact', contact: { name: 'Suporte', phones: ['+551140028922'] } },
  {
    ...to,
    type: 'interactive',
    interactive: {
      body: 'Confirma a entrega de amanhã?',
      buttons: [
        { type: 'reply', id: 'yes', label: 'Sim' },
        { type: 'reply', id: 'no', label: 'Não' },
      ],
    },
  },
  {
    ...to,
    type: 'poll',
    poll: {
      name: 'Qual horário prefere?',
      options: [
        { id: 'morning', label: 'Manhã' },
        { id: 'afternoon', label: 'Tarde' },
      ],
      selectable: 1,
    },
  },
  { ...to, type: 'album', album: [{ image: { media, caption: 'Frente' } }, { video: { media } }] },
];
