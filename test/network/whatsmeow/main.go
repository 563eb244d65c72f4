// A client on whatsmeow, which shares no code with Baileys. It shows that the simulated
// network follows the protocol and not the habits of one client. It reports events and takes
// commands, one JSON object per line.
package main

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand"
	"net"
	"net/http"
	"os"
	"sync"

	"go.mau.fi/util/random"
	"go.mau.fi/whatsmeow"
	"go.mau.fi/whatsmeow/proto/waE2E"
	"go.mau.fi/whatsmeow/store"
	"go.mau.fi/whatsmeow/types"
	"go.mau.fi/whatsmeow/types/events"
	"go.mau.fi/whatsmeow/util/keys"
	waLog "go.mau.fi/whatsmeow/util/log"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// settings are the first line of the input.
type settings struct {
	Address string `json:"address"` // host:port of the network
	Root    string `json:"root"`    // hex
	CA      string `json:"ca"`      // PEM, of the media hosts
	Verbose bool   `json:"verbose"`
}

type order struct {
	Do    string `json:"do"`
	To    string `json:"to"`
	Text  string `json:"text"`
	ID    string `json:"id"`
	Phone string `json:"phone"`
	// Credential is the JSON of an assertion.
	Credential string `json:"credential"`
}

type fact map[string]any

var saying sync.Mutex

func say(f fact) {
	saying.Lock()
	defer saying.Unlock()
	line, err := json.Marshal(f)
	must(err)
	fmt.Println(string(line))
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func main() {
	input := bufio.NewScanner(os.Stdin)
	input.Buffer(nil, 1<<20)
	var with settings
	if !input.Scan() {
		must(fmt.Errorf("no settings"))
	}
	must(json.Unmarshal(input.Bytes(), &with))
	client := newClient(with)
	must(client.Connect())
	for input.Scan() {
		var o order
		must(json.Unmarshal(input.Bytes(), &o))
		if err := follow(client, o); err != nil {
			say(fact{"event": "error", "do": o.Do, "error": err.Error()})
		}
	}
	client.Disconnect()
}

func newClient(with settings) *whatsmeow.Client {
	root, err := hex.DecodeString(with.Root)
	must(err)
	copy(whatsmeow.WACertPubKey[:], root)

	level := "ERROR"
	if with.Verbose {
		level = "DEBUG"
	}
	mem := newMemory()
	device := &store.Device{
		Log:            waLog.Noop,
		Container:      mem,
		NoiseKey:       keys.NewKeyPair(),
		IdentityKey:    keys.NewKeyPair(),
		RegistrationID: rand.Uint32(),
		AdvSecretKey:   random.Bytes(32),
	}
	device.SignedPreKey = device.IdentityKey.CreateSignedPreKey(1)
	client := whatsmeow.NewClient(device, toStderr(level))

	// whatsmeow dials its usual address; the connection goes to this network.
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, with.Address)
	}
	front := &http.Client{Transport: &http.Transport{DialTLSContext: dial}}
	client.SetWebsocketHTTPClient(front)
	client.SetPreLoginHTTPClient(front)

	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM([]byte(with.CA))
	client.SetMediaHTTPClient(&http.Client{
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}},
	})
	client.AddEventHandler(func(event any) { report(client, event) })
	return client
}

func report(client *whatsmeow.Client, event any) {
	switch e := event.(type) {
	case *events.QR:
		say(fact{"event": "qr", "code": e.Codes[0]})
	case *events.PairSuccess:
		say(fact{"event": "paired", "jid": e.ID.String(), "lid": e.LID.String()})
	case *events.PairPasskeyRequest:
		say(fact{"event": "passkey", "options": e.PublicKey})
	case *events.PairPasskeyConfirmation:
		say(fact{"event": "passkey-code", "code": e.Code, "skips": e.SkipHandoffUX})
	case *events.PairPasskeyError:
		say(fact{"event": "passkey-error", "error": e.Error.Error()})
	case *events.PairError:
		say(fact{"event": "error", "error": e.Error.Error()})
	case *events.Connected:
		say(fact{"event": "connected"})
	case *events.OfflineSyncCompleted:
		say(fact{"event": "caught-up", "count": e.Count})
	case *events.Disconnected:
		say(fact{"event": "disconnected"})
	case *events.LoggedOut:
		say(fact{"event": "logged-out", "reason": int(e.Reason)})
	case *events.ClientOutdated:
		say(fact{"event": "outdated"})
	case *events.StreamReplaced:
		say(fact{"event": "replaced"})
	case *events.TemporaryBan:
		say(fact{"event": "banned", "seconds": int(e.Expire.Seconds())})
	case *events.Receipt:
		say(fact{"event": "receipt", "ids": e.MessageIDs, "type": string(e.Type), "chat": e.Chat.String(), "sender": e.Sender.ToNonAD().String()})
	case *events.UndecryptableMessage:
		say(fact{"event": "undecryptable", "id": e.Info.ID})
	case *events.HistorySync:
		say(fact{"event": "history", "type": e.Data.GetSyncType().String(), "chats": len(e.Data.GetConversations())})
	case *events.ChatPresence:
		say(fact{"event": "presence", "state": string(e.State)})
	case *events.Message:
		reportMessage(client, e)
	}
}

func reportMessage(client *whatsmeow.Client, e *events.Message) {
	f := fact{
		"event": "message", "id": e.Info.ID, "chat": e.Info.Chat.String(), "sender": e.Info.Sender.String(),
		"alt": e.Info.SenderAlt.String(), "name": e.Info.PushName, "own": e.Info.IsFromMe, "fields": kindOf(e.Message),
	}
	if whole := e.Message.GetMessageContextInfo().GetMessageAssociation(); whole != nil {
		f["whole"] = fact{"type": whole.GetAssociationType().String(), "id": whole.GetParentMessageKey().GetID()}
		f["inner"] = kindOf(e.Message.GetAssociatedChildMessage().GetMessage())
	}
	switch {
	case e.Message.GetImageMessage() != nil:
		bytes, err := client.Download(context.Background(), e.Message.GetImageMessage())
		if err != nil {
			f["error"] = err.Error()
		}
		f["file"] = string(bytes)
	case e.Message.GetConversation() != "":
		f["text"] = e.Message.GetConversation()
	default:
		f["text"] = e.Message.GetExtendedTextMessage().GetText()
	}
	if c := contextOf(e.Message); c != nil {
		f["context"] = fact{
			"expiration": c.GetExpiration(), "quotes": c.GetStanzaID(), "author": c.GetParticipant(),
			"quoted": kindOf(c.GetQuotedMessage()), "mentions": c.GetMentionedJID(),
		}
	}
	say(f)
}

// contextOf returns the context of the content: quote, mentions, timer.
func contextOf(m *waE2E.Message) *waE2E.ContextInfo {
	for _, content := range []interface{ GetContextInfo() *waE2E.ContextInfo }{
		m.GetExtendedTextMessage(), m.GetImageMessage(), m.GetLocationMessage(), m.GetPollCreationMessageV3(),
		m.GetInteractiveMessage(),
	} {
		if c := content.GetContextInfo(); c != nil {
			return c
		}
	}
	return nil
}

// kindOf names the fields of a message.
func kindOf(m *waE2E.Message) []string {
	fields := []string{}
	m.ProtoReflect().Range(func(field protoreflect.FieldDescriptor, _ protoreflect.Value) bool {
		fields = append(fields, string(field.Name()))
		return true
	})
	return fields
}

func follow(client *whatsmeow.Client, o order) error {
	ctx := context.Background()
	switch o.Do {
	case "send":
		return send(ctx, client, o, &waE2E.Message{Conversation: proto.String(o.Text)})
	case "send-file":
		up, err := client.Upload(ctx, []byte(o.Text), whatsmeow.MediaDocument)
		if err != nil {
			return err
		}
		return send(ctx, client, o, &waE2E.Message{DocumentMessage: &waE2E.DocumentMessage{
			URL: &up.URL, DirectPath: &up.DirectPath, MediaKey: up.MediaKey, FileEncSHA256: up.FileEncSHA256,
			FileSHA256: up.FileSHA256, FileLength: &up.FileLength, Mimetype: proto.String("text/plain"),
		}})
	case "pair-code":
		code, err := client.PairPhone(ctx, o.Phone, true, whatsmeow.PairClientChrome, "Chrome (Linux)")
		if err != nil {
			return err
		}
		say(fact{"event": "pair-code", "code": code})
		return nil
	case "passkey":
		var credential types.WebAuthnResponse
		if err := json.Unmarshal([]byte(o.Credential), &credential); err != nil {
			return err
		}
		if err := client.SendPasskeyResponse(ctx, &credential); err != nil {
			return err
		}
		say(fact{"event": "passkey-sent"})
		return nil
	case "passkey-confirm":
		return client.SendPasskeyConfirmation(ctx)
	case "is-on":
		found, err := client.IsOnWhatsApp(ctx, []string{"+" + o.Phone})
		if err != nil {
			return err
		}
		say(fact{"event": "is-on", "found": found[0].IsIn, "jid": found[0].JID.String(), "phone": found[0].PhoneNumber.String()})
		return nil
	default:
		return fmt.Errorf("unknown order %q", o.Do)
	}
}

func send(ctx context.Context, client *whatsmeow.Client, o order, message *waE2E.Message) error {
	to, err := types.ParseJID(o.To)
	if err != nil {
		return err
	}
	done, err := client.SendMessage(ctx, to, message)
	if err != nil {
		return err
	}
	say(fact{"event": "sent", "id": done.ID, "to": o.To})
	return nil
}
