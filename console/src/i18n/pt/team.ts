export const team = {
  title: 'Equipe',
  subtitle: 'Pessoas que usam esta conta, com os seus papéis.',
  invite: 'Convidar pessoa',
  send: 'Convidar',
  role: 'Papel',
  roleOf: 'Papel de {{name}}',
  secondFactor: 'Segundo fator',
  numbersHelp: 'Restringe a pessoa a estes números.',
  invitations: 'Convites abertos',
  invited: '{{email}} foi convidado',
  emailed:
    'Um e-mail com o link está a caminho. Você também pode enviar este link. Ele funciona uma vez, por 7 dias, e só é mostrado agora.',
  notEmailed:
    'Nenhum e-mail foi enviado, porque a pessoa recebeu um na última hora ou o servidor não o aceitou. Envie você este link à pessoa. Ele funciona uma vez, por 7 dias, e só é mostrado agora. Um link que esta conta já enviou à pessoa por e-mail também funciona.',
  link: 'Envie este link à pessoa. Ele vale uma vez, por 7 dias, e só aparece agora.',
  remove: 'Remover',
  removeTitle: 'Remover {{name}} da conta?',
  removeText: 'A pessoa perde o acesso em até 2 segundos. As chaves de API continuam valendo.',
  withdraw: 'Cancelar',
  withdrawTitle: 'Cancelar o convite?',
  withdrawText: 'O link deixa de funcionar.',
  roles: {
    owner: { name: 'Proprietário', help: 'Tudo, inclusive outros proprietários.' },
    admin: { name: 'Administrador', help: 'Tudo, exceto proprietários.' },
    developer: { name: 'Desenvolvedor', help: 'Chaves, webhooks, mensagens e eventos.' },
    agent: { name: 'Atendente', help: 'Lê números, envia e lê mensagens, descadastros.' },
    viewer: { name: 'Leitor', help: 'Somente lê.' },
  },
};

export const invitation = {
  title: 'Convite',
  help: 'Escolha o seu nome e uma senha para entrar na conta.',
  byProvider:
    'Entre com {{name}} e o e-mail do convite para participar da conta. Se você já tem outra conta aqui, abra o link de novo depois.',
  signedIn: 'Entrar na conta como {{email}}.',
  accept: 'Entrar na conta',
};
