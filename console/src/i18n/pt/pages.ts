export const messages = {
  title: 'Mensagens',
  subtitle: 'Mensagens enviadas e recebidas, sem o conteúdo.',
  new: 'Enviar mensagem',
  empty: 'Nenhuma mensagem ainda',
  emptyHelp: 'Envie uma mensagem por aqui ou pela API. As recebidas aparecem sozinhas.',
  noneFound: 'Nenhuma mensagem com estes filtros',
  noneFoundHelp: 'Remova um filtro para ver mais.',
  contact: 'Contato',
  byId: 'Abrir pelo id (Enter)',
  type: 'Tipo',
  directions: { outbound: 'enviada', inbound: 'recebida' },
  statuses: {
    queued: 'Esperando',
    sending: 'Enviando',
    sent: 'Enviada',
    delivered: 'Entregue',
    read: 'Lida',
    failed: 'Falhou',
  },
  types: {
    text: 'Texto',
    image: 'Imagem',
    video: 'Vídeo',
    document: 'Documento',
    audio: 'Áudio',
    sticker: 'Figurinha',
    location: 'Localização',
    contact: 'Cartão de contato',
    interactive: 'Menu',
    poll: 'Enquete',
    album: 'Álbum',
    other: 'Outro',
  },
};

export const message = {
  title: 'Mensagem',
  notKept: 'O gateway não guarda o conteúdo das mensagens depois do envio.',
  content: 'Conteúdo',
  timeline: 'Linha do tempo',
  direction: 'Direção',
  renderedAs: 'Enviada como',
  networkId: 'Id na rede',
  deliveries: 'Entregas por webhook',
  noDeliveries: 'Nenhum evento desta mensagem foi entregue a um webhook.',
  steps: {
    created_at: 'Aceita',
    received: 'Recebida',
    scheduled_for: 'Agendada para',
    sent_at: 'Enviada',
    delivered_at: 'Entregue',
    read_at: 'Lida',
    failed_at: 'Falhou',
  },
  failures: {
    recipient_not_on_whatsapp: {
      title: 'O destinatário não tem conta no WhatsApp',
      advice: 'Confira o número. Se estiver certo, retire-o da sua lista.',
    },
    media_unavailable: {
      title: 'O arquivo não pôde ser usado',
      advice: 'Confira se o endereço responde e se o formato é permitido, e envie de novo.',
    },
    not_connected: {
      title: 'O número não está conectado',
      advice: 'Abra o número para ver o motivo. Envie de novo quando estiver conectado.',
    },
    not_paired: {
      title: 'Nenhum telefone está vinculado',
      advice: 'Vincule um telefone ao número e envie de novo.',
    },
    opted_out: {
      title: 'O contato se descadastrou',
      advice: 'Não envie de novo. O contato pode voltar com a palavra VOLTAR.',
    },
    canceled: { title: 'A mensagem foi cancelada', advice: 'Alguém a cancelou antes do envio.' },
    expired: {
      title: 'A mensagem esperou demais',
      advice: 'O número ficou 15 minutos sem conexão. Envie de novo se ainda fizer sentido.',
    },
    wa_error: {
      title: 'O WhatsApp recusou a mensagem',
      advice: 'Leia o motivo abaixo. Verifique se o número está restrito.',
    },
    timeout: {
      title: 'O WhatsApp não confirmou a mensagem',
      advice: 'Ela pode ter chegado. Pergunte ao contato antes de enviar de novo.',
    },
    internal: {
      title: 'Erro interno',
      advice: 'Envie de novo. Se falhar outra vez, informe o id ao operador deste gateway.',
    },
  },
};

export const send = {
  title: 'Enviar mensagem',
  subtitle: 'A mesma requisição que a sua aplicação envia.',
  to: 'Para',
  toHelp: 'Telefone com código do país e de área, ou o id de uma pessoa ou de um grupo.',
  content: 'Conteúdo (JSON)',
  contentHelp: 'Arquivos têm o media_id de um upload, ou uma url.',
  invalid: 'O conteúdo não é um JSON válido.',
  submit: 'Enviar',
  editor: 'Editar como',
  modes: { form: 'Formulário', json: 'JSON' },
  upload: 'Enviar um arquivo',
  uploaded: 'Enviado: {{name}}',
  lines: 'Um por linha.',
  fields: {
    body: 'Texto',
    caption: 'Legenda',
    address: 'Endereço',
    name: 'Nome',
    organization: 'Organização',
    footer: 'Rodapé',
    phones: 'Telefones',
    buttons: 'Botões',
    options: 'Opções',
    latitude: 'Latitude',
    longitude: 'Longitude',
    selectable: 'Opções que uma pessoa pode escolher',
    preview_url: 'Prévia do primeiro link',
    voice: 'Mensagem de voz',
    hd: 'Em HD',
    round: 'Vídeo redondo',
    media: 'Arquivo',
    url: 'Endereço do arquivo',
  },
};

export const events = {
  title: 'Eventos',
  subtitle: 'Conforme acontecem, os mais novos primeiro. O gateway os guarda por 90 dias.',
  one: 'Evento',
  type: 'Tipo',
  empty: 'Nenhum evento',
  emptyHelp: 'Eventos aparecem aqui quando um número conecta ou uma mensagem é enviada ou recebida.',
};

export const person = {
  placeholder: 'Nome, @usuário, telefone ou id',
  none: 'Ninguém encontrado',
  phoneOrId: 'Telefone ou id',
};

export const optOuts = {
  title: 'Descadastros',
  subtitle: 'Contatos que não recebem mais nada de nenhum número desta conta.',
  add: 'Adicionar descadastro',
  empty: 'Nenhum descadastro encontrado',
  emptyHelp: 'Um contato que envia SAIR, PARAR ou STOP aparece aqui.',
  consent: 'Remova um descadastro somente com o consentimento do contato.',
  source: 'Origem',
  sources: { keyword: 'palavra {{keyword}}', api: 'API', panel: 'console' },
  sandbox: 'somente em um sandbox',
  remove: 'Remover',
  removeTitle: 'Remover o descadastro de {{person}}?',
  removeText: 'O contato pode receber mensagens de novo. Faça isto somente se o contato concordou.',
};

export const contactCheck = {
  title: 'Verificar um contato',
  help: 'Pergunta ao WhatsApp, por um número conectado, se um telefone ou id tem conta.',
  submit: 'Verificar',
  exists: 'Tem conta: {{person}}',
  absent: 'Não tem conta.',
};

export const keys = {
  title: 'Chaves de API',
  subtitle: 'Chaves para as suas aplicações. Cada uma só aparece uma vez, quando é criada.',
  new: 'Nova chave de API',
  empty: 'Nenhuma chave de API ainda',
  emptyHelp: 'Crie uma para cada aplicação, só com os escopos necessários.',
  scopes: 'Escopos',
  nameHelp: 'Por exemplo, a aplicação que a usa.',
  numbersHelp: 'Restringe a chave a estes números.',
  lifetime: 'Validade',
  lifetimes: { never: 'Sem fim', month: '30 dias', quarter: '90 dias', year: 'Um ano' },
  created: 'A chave de API está pronta',
  states: { active: 'Ativa', revoked: 'Revogada', expired: 'Vencida' },
  restricted_one: 'um número',
  restricted_other: '{{count}} números',
  expires: 'vence',
  lastUsed: 'Último uso',
  revoke: 'Revogar',
  revokeTitle: 'Revogar {{name}}?',
  revokeText: 'Aplicações com esta chave são recusadas em até 2 segundos. Isto não pode ser desfeito.',
};

/** A página que `gwk login` abre. */
export const approveKey = {
  title: 'Chave de API para a linha de comando',
  asks: 'Um programa neste computador pede uma chave. Ele se apresenta como “{{name}}”. Você é {{email}}.',
  code: 'Código no terminal',
  compare: 'Aprove só se o seu próprio terminal mostrar o mesmo código. Senão, feche esta página.',
  approve: 'Aprovar',
  approved: 'Aprovada. Continue no terminal.',
  malformed: 'Este endereço está incompleto. Execute gwk login de novo.',
};

export const scopes = {
  'instances:read': 'Listar números, sua saúde e disponibilidade; verificar contatos',
  'instances:write': 'Criar, vincular, alterar e excluir números',
  'messages:send': 'Enviar, editar e apagar mensagens; marcar como lidas; descadastros',
  'messages:read': 'Ler mensagens e descadastros',
  'media:write': 'Enviar arquivos ao gateway',
  'webhooks:read': 'Ler endpoints e entregas de webhook',
  'webhooks:write': 'Gerenciar endpoints e repetir entregas',
  'events:read': 'Ler eventos',
};

export const profile = {
  title: 'Perfil',
  name: 'Nome',
  nameHelp: 'Os outros membros o veem.',
  password: 'Senha',
  passwordHelp: 'Uma alteração encerra as suas outras sessões.',
  current: 'Senha atual',
  next: 'Nova senha',
  nextHelp: 'Pelo menos 12 caracteres.',
  sessions: 'Sessões',
  sessionsHelp: 'Navegadores em que você entrou.',
  browser: 'Navegador',
  lastSeen: 'Vista por último',
  thisSession: 'Esta sessão',
  end: 'Encerrar',
  endTitle: 'Encerrar esta sessão?',
  endText: 'Aquele navegador precisará entrar de novo.',
};

export const secondFactor = {
  title: 'Segundo fator',
  help: 'Um código de um aplicativo no telefone, além da senha.',
  active: 'O segundo fator está ativo. Cada entrada pede um código.',
  password: 'Senha para o segundo fator',
  start: 'Configurar o segundo fator',
  scan: 'Leia este código com um aplicativo autenticador.',
  qr: 'QR code para o aplicativo autenticador',
  secret: 'Ou digite este segredo no aplicativo:',
  codeHelp: 'Os seis dígitos que o aplicativo mostra.',
  done: 'O segundo fator está ativo',
  backupHelp:
    'Cada código de reserva substitui um código do aplicativo, por exemplo se você perder o telefone.',
  remove: 'Remover o segundo fator',
  removeTitle: 'Remover o segundo fator?',
  removeText: 'As entradas deixam de pedir um código. Os códigos de reserva deixam de valer.',
};

export const formats = {
  title: 'Formatos',
  subtitle: 'Quais formatos de menu os aplicativos mostram no momento.',
  rate: '{{percent}} das verificações de 30 dias deram certo',
  names: {
    native_flow_buttons: 'Botões (native flow)',
    native_flow_list: 'Lista (native flow)',
    legacy_buttons: 'Botões (formato antigo)',
    legacy_list: 'Lista (formato antigo)',
    text_menu: 'Menu em texto',
  },
  devices: { android: 'Android', iphone: 'iPhone', web: 'WhatsApp Web' },
  states: { works: 'funciona', partial: 'em parte', broken: 'quebrado', unknown: 'não verificado' },
  edit: 'Registrar verificação',
  editOf: 'Registrar verificação: {{format}}, {{device}}',
  status: 'Resultado',
  appVersion: 'Versão do aplicativo',
  version: 'versão {{version}}',
  note: 'Observação',
  noteHelp: 'Todos podem ler.',
  by: 'por {{author}}',
};
