export const alertContacts = {
  title: 'Contatos de alerta',
  subtitle:
    'Pessoas que recebem uma mensagem quando um número é desconectado do celular, banido ou fica 5 minutos sem conexão, ou um webhook é desativado. No máximo 10.',
  add: 'Adicionar contato',
  empty: 'Ninguém recebe alertas ainda',
  emptyHelp: 'Adicione um contato. A pessoa recebe um código, e alertas depois que você o informar aqui.',
  channel: 'Canal',
  channels: { email: 'E-mail', whatsapp: 'WhatsApp' },
  addresses: { email: 'E-mail', whatsapp: 'Telefone com código do país, ou id' },
  unavailable: {
    email: 'Este gateway não tem servidor SMTP e não envia e-mails.',
    whatsapp: 'Nenhum número da conta está conectado; ela não envia alertas pelo WhatsApp.',
  },
  language: 'Idioma',
  sendCode: 'Enviar o código',
  verified: 'Confirmado',
  codeOf: 'Código de {{name}}',
  verify: 'Confirmar',
  resend: 'Enviar outro código',
  resent: 'Outro código está a caminho.',
  remove: 'Remover',
  removeTitle: 'Remover {{name}}?',
  removeText: 'O contato não recebe mais alertas.',
};

export const auditLog = {
  title: 'Auditoria',
  subtitle: 'Quem mudou o quê nesta conta, e os acessos dos membros.',
  export: 'Exportar CSV',
  filters: { actor: 'Quem', action: 'Operação', subject: 'Objeto', since: 'De', until: 'Até' },
  detail: 'Detalhes',
  empty: 'Nenhum registro',
  emptyHelp: 'Nenhuma mudança corresponde a estes filtros.',
};

export const accountPolicy = { title: 'Limites de todos os números', link: 'Limites de todos os números' };
