package main

import (
	"context"
	"strings"
	"sync"

	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/util/keys"
)

// memory holds what a device must remember while the program runs. The embedded store answers
// everything else (contacts, chat settings, app state) with nothing.
type memory struct {
	*store.NoopStore
	lock       sync.Mutex
	sessions   map[string][]byte
	senderKeys map[string][]byte
	preKeys    map[uint32]*keys.PreKey
	uploaded   map[uint32]bool
	nextPreKey uint32
	stateKeys  map[string]store.AppStateSyncKey
	lids       map[string]types.JID
	numbers    map[string]types.JID
}

func newMemory() *memory {
	return &memory{
		NoopStore:  &store.NoopStore{},
		sessions:   map[string][]byte{},
		senderKeys: map[string][]byte{},
		preKeys:    map[uint32]*keys.PreKey{},
		uploaded:   map[uint32]bool{},
		nextPreKey: 1,
		stateKeys:  map[string]store.AppStateSyncKey{},
		lids:       map[string]types.JID{},
		numbers:    map[string]types.JID{},
	}
}

// PutDevice is called when the device is paired. It has stores from then on.
func (m *memory) PutDevice(_ context.Context, device *store.Device) error {
	device.Identities = m
	device.Sessions = m
	device.PreKeys = m
	device.SenderKeys = m
	device.AppStateKeys = m
	device.AppState = m
	device.Contacts = m
	device.ChatSettings = m
	device.MsgSecrets = m
	device.PrivacyTokens = m
	device.NCTSalt = m
	device.EventBuffer = m
	device.LIDs = m
	device.Initialized = true
	return nil
}

func (m *memory) IsTrustedIdentity(context.Context, string, [32]byte) (bool, error) {
	return true, nil
}

func (m *memory) GetSession(_ context.Context, address string) ([]byte, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.sessions[address], nil
}

func (m *memory) HasSession(_ context.Context, address string) (bool, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.sessions[address] != nil, nil
}

func (m *memory) GetManySessions(_ context.Context, addresses []string) (map[string][]byte, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	found := map[string][]byte{}
	for _, address := range addresses {
		found[address] = m.sessions[address]
	}
	return found, nil
}

func (m *memory) PutSession(_ context.Context, address string, session []byte) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.sessions[address] = session
	return nil
}

func (m *memory) PutManySessions(ctx context.Context, sessions map[string][]byte) error {
	for address, session := range sessions {
		_ = m.PutSession(ctx, address, session)
	}
	return nil
}

func (m *memory) DeleteSession(_ context.Context, address string) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.sessions, address)
	return nil
}

func (m *memory) MigratePNToLID(_ context.Context, pn, lid types.JID) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	from, to := pn.SignalAddressUser()+":", lid.SignalAddressUser()+":"
	for address, session := range m.sessions {
		if device, ok := strings.CutPrefix(address, from); ok {
			delete(m.sessions, address)
			m.sessions[to+device] = session
		}
	}
	return nil
}

func (m *memory) makePreKey() *keys.PreKey {
	key := keys.NewPreKey(m.nextPreKey)
	m.preKeys[m.nextPreKey] = key
	m.nextPreKey++
	return key
}

func (m *memory) GetOrGenPreKeys(_ context.Context, count uint32) ([]*keys.PreKey, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	var made []*keys.PreKey
	for uint32(len(made)) < count {
		made = append(made, m.makePreKey())
	}
	return made, nil
}

func (m *memory) GenOnePreKey(context.Context) (*keys.PreKey, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	key := m.makePreKey()
	m.uploaded[key.KeyID] = true
	return key, nil
}

func (m *memory) GetPreKey(_ context.Context, id uint32) (*keys.PreKey, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.preKeys[id], nil
}

func (m *memory) RemovePreKey(_ context.Context, id uint32) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	delete(m.preKeys, id)
	delete(m.uploaded, id)
	return nil
}

func (m *memory) MarkPreKeysAsUploaded(_ context.Context, upTo uint32) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	for id := range m.preKeys {
		if id <= upTo {
			m.uploaded[id] = true
		}
	}
	return nil
}

func (m *memory) UploadedPreKeyCount(context.Context) (int, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return len(m.uploaded), nil
}

func (m *memory) PutSenderKey(_ context.Context, group, user string, session []byte) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.senderKeys[group+" "+user] = session
	return nil
}

func (m *memory) GetSenderKey(_ context.Context, group, user string) ([]byte, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return m.senderKeys[group+" "+user], nil
}

func (m *memory) PutAppStateSyncKey(_ context.Context, id []byte, key store.AppStateSyncKey) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.stateKeys[string(id)] = key
	return nil
}

func (m *memory) GetAppStateSyncKey(_ context.Context, id []byte) (*store.AppStateSyncKey, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	if key, ok := m.stateKeys[string(id)]; ok {
		return &key, nil
	}
	return nil, nil
}

func (m *memory) DoDecryptionTxn(ctx context.Context, fn func(context.Context) error) error {
	return fn(ctx)
}

func (m *memory) PutLIDMapping(_ context.Context, lid, pn types.JID) error {
	m.lock.Lock()
	defer m.lock.Unlock()
	m.lids[pn.User] = lid.ToNonAD()
	m.numbers[lid.User] = pn.ToNonAD()
	return nil
}

func (m *memory) PutManyLIDMappings(ctx context.Context, mappings []store.LIDMapping) error {
	for _, mapping := range mappings {
		_ = m.PutLIDMapping(ctx, mapping.LID, mapping.PN)
	}
	return nil
}

func (m *memory) GetLIDForPN(_ context.Context, pn types.JID) (types.JID, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return withDevice(m.lids[pn.User], pn.Device), nil
}

func (m *memory) GetPNForLID(_ context.Context, lid types.JID) (types.JID, error) {
	m.lock.Lock()
	defer m.lock.Unlock()
	return withDevice(m.numbers[lid.User], lid.Device), nil
}

func (m *memory) GetManyLIDsForPNs(ctx context.Context, pns []types.JID) (map[types.JID]types.JID, error) {
	found := map[types.JID]types.JID{}
	for _, pn := range pns {
		if lid, _ := m.GetLIDForPN(ctx, pn); !lid.IsEmpty() {
			found[pn] = lid
		}
	}
	return found, nil
}

func withDevice(jid types.JID, device uint16) types.JID {
	if !jid.IsEmpty() {
		jid.Device = device
	}
	return jid
}
