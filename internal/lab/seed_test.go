package lab_test

import "encoding/binary"

const seedText = "#cloud-config\nhostname: tried\n"

// seedImage is the smallest ISO 9660 file system that a kernel mounts: volume "cidata" with one file.
func seedImage(name string, content []byte) []byte {
	const sector = 2048
	both32 := func(n int) []byte {
		return binary.BigEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, uint32(n)), uint32(n))
	}
	both16 := func(n int) []byte {
		return binary.BigEndian.AppendUint16(binary.LittleEndian.AppendUint16(nil, uint16(n)), uint16(n))
	}
	entry := func(at, size int, flags byte, name string) []byte {
		length := 33 + len(name)
		length += length % 2
		e := append([]byte{byte(length), 0}, both32(at)...)
		e = append(e, both32(size)...)
		e = append(e, make([]byte, 7)...) // time
		e = append(e, flags, 0, 0)
		e = append(e, both16(1)...)
		e = append(e, byte(len(name)))
		e = append(e, name...)
		return append(e, make([]byte, length-len(e))...)
	}
	image := make([]byte, 20*sector)
	primary := image[16*sector:]
	copy(primary, "\x01CD001\x01")
	copy(primary[40:72], "cidata                          ")
	copy(primary[80:], both32(20))
	copy(primary[120:], both16(1))
	copy(primary[124:], both16(1))
	copy(primary[128:], both16(sector))
	copy(primary[156:], entry(18, sector, 2, "\x00"))
	primary[881] = 1
	copy(image[17*sector:], "\xffCD001\x01")
	root := append(entry(18, sector, 2, "\x00"), entry(18, sector, 2, "\x01")...)
	copy(image[18*sector:], append(root, entry(19, len(content), 0, name+".;1")...))
	copy(image[19*sector:], content)
	return image
}
