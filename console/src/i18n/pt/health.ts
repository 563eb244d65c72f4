export const health = {
  of: 'de 100',
  score: 'Nota de saúde',
  help: 'A nota estima o risco de banimento pelos últimos dias.',
  computed: 'Calculada',
  warmingUp: 'Este número é novo. O limite de contatos novos é menor; isso termina',
  recommendations: 'Recomendações',
  penalty: '−{{points}} pontos',
  risk: { low: 'Risco baixo', medium: 'Risco médio', high: 'Risco alto' },
  status: { ok: 'bom', attention: 'atenção', bad: 'ruim', info: 'informação' },
  /** By the key of the factor. */
  factors: {
    restrictions: {
      name: 'Bloqueios e restrições do WhatsApp',
      advice: 'O WhatsApp restringiu o número. Não envie nada a contatos novos por alguns dias.',
    },
    delivery_ratio: {
      name: 'Entrega',
      advice: 'Muitas mensagens não chegam. Confira os números da sua lista antes de enviar.',
    },
    read_ratio: {
      name: 'Leitura',
      advice: 'Poucas mensagens são lidas. Envie só a quem espera a sua mensagem.',
    },
    reply_ratio: {
      name: 'Respostas de contatos novos',
      advice: 'Contatos novos quase não respondem. Convide-os a responder e reduza os primeiros contatos.',
    },
    new_contacts: {
      name: 'Contatos novos em 24 horas',
      advice: 'O limite de contatos novos está próximo. Distribua os primeiros contatos em mais dias.',
    },
    opt_out_ratio: {
      name: 'Pedidos de saída',
      advice: 'Muitos contatos pedem para sair. Reveja a lista, a frequência e o conteúdo.',
    },
    failure_ratio: {
      name: 'Falhas de envio',
      advice: 'Há muitas falhas de envio. Veja o código de erro das mensagens que falharam.',
    },
    reconnections: {
      name: 'Quedas da conexão em 24 horas',
      advice: 'A conexão cai com frequência. Confira a internet do celular e do gateway.',
    },
    warm_up: {
      name: 'Idade do número',
      advice: 'O número é novo. Aumente os envios aos poucos durante os primeiros 14 dias.',
    },
  },
  bannedAdvice: 'O WhatsApp bloqueia o número. Aguarde o fim do bloqueio ou recorra no aplicativo.',
  details: {
    fewCases: 'Ainda há poucos casos em 7 dias.',
    ratio: '{{percent}} em 7 dias.',
    ofLimit: '{{percent}} do limite.',
    connections: '{{count}} nas últimas 24 horas.',
    banned: 'O número está bloqueado.',
    restricted: 'O número está restrito agora.',
    bans: '{{count}} em 30 dias.',
    ended: 'Uma restrição terminou há menos de 7 dias.',
    none: 'Nenhum em 30 dias.',
    warm: 'O aquecimento de 14 dias terminou.',
    days: 'Dias de aquecimento que faltam: {{count}}.',
    notPaired: 'Nenhum telefone foi vinculado ainda.',
  },
};
